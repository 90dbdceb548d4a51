//! One connection, from being let in to its end.

use std::{sync::Arc, time::Duration};

use futures_util::{SinkExt, StreamExt};
use tokio::{sync::mpsc, time::timeout};
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::{CloseFrame, frame::coding::CloseCode},
};

use super::{
    keep_alive::{keep_alive, refresh_token},
    open::{Admission, Socket},
    reading::read,
    writing::write,
};
use crate::{
    ConnectError, ConnectionStatus,
    client::{Outbox, Shared},
};

/// How a connection ended.
pub(super) enum Ended {
    /// It was lost, or the server ended it.
    Lost(Arc<str>),
    /// What the client offers could not be registered over it.
    Unregistered(ConnectError),
    /// Its user closed it.
    Closed,
}

const TEXTS: usize = 8;
/// How long the server has to say that it is closed, too.
const CLOSE_LIMIT: Duration = Duration::from_secs(3);

/// Runs it: what has to be said first (`begin`), and then until it ends or is not wanted any more.
pub(super) async fn run(
    shared: &Arc<Shared>,
    socket: Socket,
    admission: &Admission,
    outbox: &mut Outbox,
    begin: impl Future<Output = Result<(), ConnectError>>,
    unwanted: impl Future<Output = ()>,
) -> Ended {
    let settings = &shared.settings;
    let (texts, mut to_write) = mpsc::channel(TEXTS);
    let (mut sink, mut stream) = socket.split();
    shared.heard.now();
    let begun = async {
        match begin.await {
            Ok(()) => std::future::pending().await,
            Err(error) => error,
        }
    };
    let ended = tokio::select! {
        reason = read(shared, &mut stream) => Ended::Lost(reason),
        error = write(shared, &admission.manager, &mut sink, outbox, &mut to_write) => Ended::Lost(error.to_string().into()),
        reason = keep_alive(&shared.heard, texts.clone(), settings.ping_interval, settings.ping_timeout) => Ended::Lost(reason),
        never = refresh_token(texts, settings.token_refresh_interval, admission.token_life_seconds) => match never {},
        error = begun => Ended::Unregistered(error),
        () = shared.own_connection_closed.notified() => Ended::Lost("the server has closed its end, though the socket is open".into()),
        () = unwanted => Ended::Closed,
    };
    // A close that hangs ends with the socket, which is dropped here. It is said also where the session failed: the id is free at once then.
    let close = CloseFrame { code: CloseCode::Normal, reason: "".into() };
    let said = async {
        sink.send(Message::Close(Some(close))).await?;
        while stream.next().await.transpose()?.is_some() {}
        Ok::<_, tokio_tungstenite::tungstenite::Error>(())
    };
    if matches!(ended, Ended::Closed) {
        shared.status.send_replace(ConnectionStatus::Closing);
    }
    if !matches!(ended, Ended::Lost(_)) {
        let _ = timeout(CLOSE_LIMIT, said).await;
    }
    ended
}
