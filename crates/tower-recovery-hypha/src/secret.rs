//! Names that nobody else can guess.

use uuid::Uuid;

/// 122 bits of the system's chance, as text. Who knows the name of a call could answer it, and who knows that of a message in pieces could write into it: hypha-rpc looks at nothing else.
pub(crate) fn secret_name() -> Box<str> {
    Uuid::new_v4().simple().to_string().into()
}
