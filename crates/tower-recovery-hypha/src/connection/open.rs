//! Making a connection, and being let in.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{self, Message, protocol::WebSocketConfig},
};

use super::{Endpoint, tokens::Token};
use crate::{ConnectError, client::Shared};

/// What the socket takes: more than a server passes on, the 16 MiB that uvicorn takes from a client with the head that the server writes anew. The websocket ends at a longer message, so with a lower limit any client could end
/// the connection of any other one. What is longer than a frame may be is left out when it is here.
const LONGEST: usize = 32 << 20;

pub(super) type Socket = WebSocketStream<Box<dyn Transport>>;

pub(super) trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// What the server says when it lets a client in.
#[derive(Debug)]
pub(crate) struct Admission {
    pub(crate) workspace: Arc<str>,
    /// Where the workspace manager is found: `*/id`.
    pub(crate) manager: Arc<str>,
    pub(crate) base_url: Option<Arc<str>>,
    pub(crate) token_life_seconds: Option<f64>,
}

#[derive(Serialize)]
struct Authentication<'a> {
    client_id: &'a str,
    workspace: Option<&'a str>,
    token: Option<&'a str>,
    reconnection_token: Option<&'a str>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum FirstMessage {
    ConnectionInfo {
        workspace: Box<str>,
        manager_id: Box<str>,
        public_base_url: Option<Box<str>>,
        reconnection_token: Option<Box<str>>,
        reconnection_token_life_time: Option<f64>,
    },
    Error {
        message: Box<str>,
    },
}

/// One try to connect: by the token whose turn it is, and if the server refuses that, by the other one.
pub(super) async fn open(shared: &Shared) -> Result<(Socket, Admission), ConnectError> {
    let limit = shared.settings.connect_timeout;
    let tries = async {
        let (first, second) = shared.tokens.in_order();
        let refused = match open_with(shared, &first).await {
            Err(error) if error.is_a_refusal() => error,
            outcome => return outcome,
        };
        if refused.is_permanent() {
            shared.tokens.forget(&first);
        }
        let Some(second) = second else { return Err(refused) };
        match open_with(shared, &second).await {
            Err(error) if error.is_permanent() && !refused.is_permanent() => {
                shared.tokens.forget(&second);
                // The first may be good again when what the server had against it is over.
                Err(refused)
            }
            outcome => outcome,
        }
    };
    let opened = timeout(limit, tries).await.unwrap_or(Err(ConnectError::TimedOut(limit)));
    if opened.is_ok() {
        shared.tokens.were_good();
    }
    opened
}

async fn open_with(shared: &Shared, by: &Token) -> Result<(Socket, Admission), ConnectError> {
    let settings = &shared.settings;
    let (token, reconnection_token) = match by {
        Token::Given(token) => (token.as_deref(), None),
        Token::ComingBack(token) => (None, Some(&**token)),
    };
    let mut socket = handshake(shared).await?;
    // The workspace in which it was, once it is known: a token alone could lead into another one.
    let workspace = shared.workspace();
    let authentication = Authentication {
        client_id: &settings.client_id,
        workspace: workspace.as_deref().or(settings.workspace.as_deref()),
        token,
        reconnection_token,
    };
    let authentication =
        serde_json::to_string(&authentication).map_err(|error| ConnectError::Protocol(error.into()))?;
    socket.send(Message::text(authentication)).await.map_err(websocket)?;
    let FirstMessage::ConnectionInfo {
        workspace: given,
        manager_id,
        public_base_url,
        reconnection_token,
        reconnection_token_life_time,
    } = first_message(shared, &mut socket).await?
    else {
        return Err(ConnectError::Protocol("it is an error".into()));
    };
    if let Some(wanted) = authentication_workspace(shared)
        && *wanted != *given
    {
        return Err(ConnectError::WrongWorkspace { given, wanted: (*wanted).into() });
    }
    if let Some(token) = reconnection_token {
        shared.tokens.refresh(token);
    }
    let admission = Admission {
        workspace: given.into(),
        manager: format!("*/{manager_id}").into(),
        base_url: public_base_url.map(Into::into),
        token_life_seconds: reconnection_token_life_time,
    };
    Ok((socket, admission))
}

fn authentication_workspace(shared: &Shared) -> Option<Arc<str>> {
    shared.workspace().or_else(|| shared.settings.workspace.as_deref().map(Into::into))
}

async fn handshake(shared: &Shared) -> Result<Socket, ConnectError> {
    let Endpoint { is_secure, host, port, uri } = &shared.settings.endpoint;
    let unreachable = |source| ConnectError::Unreachable { host: format!("{host}:{port}").into(), source };
    // An address of IPv6 stands in brackets in a URL, and nowhere else.
    let name = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((name, *port)).await.map_err(unreachable)?;
    // Requests are small and wait for nobody.
    stream.set_nodelay(true).map_err(unreachable)?;
    let stream: Box<dyn Transport> =
        if *is_secure { shared.settings.tls.connect(name, stream).await? } else { Box::new(stream) };
    let config = WebSocketConfig::default().max_message_size(Some(LONGEST)).max_frame_size(Some(LONGEST));
    let (socket, _) = client_async_with_config(uri, stream, Some(config)).await.map_err(websocket)?;
    Ok(socket)
}

/// What was meant for this client before it was known to be back is left out: it answers nobody who still waits.
async fn first_message(shared: &Shared, socket: &mut Socket) -> Result<FirstMessage, ConnectError> {
    loop {
        let text = match socket.next().await {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Close(frame))) => {
                let message = frame.map(|frame| frame.reason.as_str().to_owned()).unwrap_or_default();
                return Err(ConnectError::of_the_servers_words(&message, &shared.settings.client_id));
            }
            Some(Ok(_)) => continue,
            Some(Err(error)) => return Err(websocket(error)),
            None => return Err(websocket(tungstenite::Error::ConnectionClosed)),
        };
        return match serde_json::from_str(&text) {
            Ok(FirstMessage::Error { message }) => {
                Err(ConnectError::of_the_servers_words(&message, &shared.settings.client_id))
            }
            Ok(message) => Ok(message),
            Err(error) => Err(ConnectError::Protocol(error.into())),
        };
    }
}

fn websocket(error: tungstenite::Error) -> ConnectError {
    ConnectError::Websocket(Box::new(error))
}
