//! nginx: one process in the foreground, which writes nothing outside of its directory.

use std::path::Path;

pub(crate) fn arguments(file: &Path, directory: &Path) -> Vec<String> {
    let (file, directory) = (file.display().to_string(), directory.display().to_string());
    // The error log of its start would go to the system's directory otherwise.
    vec!["-c".into(), file, "-p".into(), directory, "-e".into(), "stderr".into()]
}

/// With this in its `http` block.
pub(crate) fn configuration(directory: &Path, http: &str) -> String {
    let directory = directory.display();
    format!(
        "daemon off;
        master_process off;
        pid {directory}/pid;
        error_log stderr warn;
        events {{ worker_connections 512; }}
        http {{
            client_body_temp_path {directory}/client_body;
            proxy_temp_path {directory}/proxy;
            fastcgi_temp_path {directory}/fastcgi;
            uwsgi_temp_path {directory}/uwsgi;
            scgi_temp_path {directory}/scgi;
            {http}
        }}\n"
    )
}
