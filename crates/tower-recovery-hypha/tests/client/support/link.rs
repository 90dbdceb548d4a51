//! One connection, seen from the server.

use futures_util::{SinkExt, StreamExt};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::{WebSocketStream, accept_async, tungstenite::Message};
use tower_recovery_hypha::Value;

use super::{
    CLIENT, Frame, OWN_ID, PEER,
    frame::{map, packed},
    soon,
};

pub(crate) trait Transport: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Transport for T {}

/// The server's end of a connection. Dropping it cuts the connection.
pub(crate) struct Link {
    socket: WebSocketStream<Box<dyn Transport>>,
    /// `*/id` of the workspace manager.
    manager: String,
    /// What the client has registered over this connection.
    pub(crate) registrations: Vec<Value>,
    /// Texts that came, beside the authentication.
    pub(crate) texts: Vec<String>,
}

impl Link {
    pub(crate) async fn over(stream: impl Transport + 'static) -> Self {
        let stream: Box<dyn Transport> = Box::new(stream);
        let socket = soon(accept_async(stream)).await.expect("the client speaks websocket");
        Self { socket, manager: "*/manager-1".to_owned(), registrations: Vec::new(), texts: Vec::new() }
    }

    /// By what the client asks to be let in.
    pub(crate) async fn authentication(&mut self) -> serde_json::Value {
        let Some(Ok(Message::Text(text))) = soon(self.socket.next()).await else { panic!("no authentication came") };
        serde_json::from_str(&text).unwrap()
    }

    /// Reads the authentication, and lets the client in.
    pub(crate) async fn admit(&mut self) -> serde_json::Value {
        let authentication = self.authentication().await;
        self.connection_info(json!({})).await;
        authentication
    }

    /// Lets the client in, with other fields than usual.
    pub(crate) async fn connection_info(&mut self, fields: serde_json::Value) {
        let mut info = json!({
            "type": "connection_info",
            "hypha_version": "0.21.137",
            "public_base_url": "http://hypha.test",
            "local_base_url": null,
            "manager_id": "manager-1",
            "workspace": "ws",
            "client_id": CLIENT,
            "user_info": {"id": "root", "scope": null},
            "reconnection_token": "for-coming-back-is-secret",
            "reconnection_token_life_time": 172_800.0,
        });
        for (name, value) in fields.as_object().unwrap() {
            info[name] = value.clone();
        }
        if let Some(id) = info["manager_id"].as_str() {
            self.manager = format!("*/{id}");
        }
        self.text(&info.to_string()).await;
    }

    /// Answers what the client says first, until it has subscribed, which it says last.
    pub(crate) async fn registered(&mut self) {
        loop {
            let frame = self.any_frame().await;
            self.answer_manager_call(&frame).await;
            if frame.method() == "services.default.subscribe" {
                return;
            }
        }
    }

    async fn answer_manager_call(&mut self, frame: &Frame) {
        if frame.method() == "services.default.register_service" {
            self.registrations.push(frame.arg(0).clone());
        }
        self.resolve(frame, frame.arg(0).clone()).await;
    }

    pub(crate) fn manager(&self) -> &str {
        &self.manager
    }

    /// The next frame. The texts before it are kept.
    pub(crate) async fn any_frame(&mut self) -> Frame {
        self.frame_or_end().await.expect("the connection ended, and a frame was waited for")
    }

    /// The next frame, or how the connection ended.
    pub(crate) async fn frame_or_end(&mut self) -> Result<Frame, String> {
        loop {
            match soon(self.socket.next()).await {
                Some(Ok(Message::Binary(bytes))) => return Ok(Frame::read(&bytes)),
                Some(Ok(Message::Text(text))) => self.texts.push(text.to_string()),
                Some(Ok(Message::Close(_))) => return Err("closed".to_owned()),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.to_string()),
                None => return Err("ended".to_owned()),
            }
        }
    }

    /// The next frame, which is of this method.
    pub(crate) async fn frame(&mut self, method: &str) -> Frame {
        let frame = self.any_frame().await;
        assert_eq!(frame.method(), method);
        frame
    }

    /// Waits for the end of the connection.
    pub(crate) async fn ended(mut self) -> String {
        loop {
            if let Err(ended) = self.frame_or_end().await {
                return ended;
            }
        }
    }

    /// Waits for a text.
    pub(crate) async fn next_text(&mut self) -> String {
        loop {
            match soon(self.socket.next()).await {
                Some(Ok(Message::Text(text))) => return text.to_string(),
                Some(Ok(_)) => {}
                other => panic!("a text was waited for: {other:?}"),
            }
        }
    }

    /// All frames that the client sends before it has read what was sent to it, and has nothing more to send. It answers pings in order, and before anything else that waits; so what waited
    /// beside the first answer comes before the second.
    pub(crate) async fn frames_until_now(&mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        for _ in 0..2 {
            self.call("ws/barrier", "services.built-in.ping", "barrier", vec!["ping".into()]).await;
            loop {
                let frame = self.any_frame().await;
                if frame.method() == "barrier.resolve" {
                    break;
                }
                frames.push(frame);
            }
        }
        frames
    }

    pub(crate) async fn text(&mut self, text: &str) {
        self.message(Message::text(text)).await;
    }

    pub(crate) async fn bytes(&mut self, bytes: Vec<u8>) {
        self.message(Message::binary(bytes)).await;
    }

    pub(crate) async fn message(&mut self, message: Message) {
        soon(self.socket.send(message)).await.expect("the client reads");
    }

    /// Relays a message, as the server does: with the sender's workspace and user.
    pub(crate) async fn relay(&mut self, from: &str, method: &str, session: Option<&str>, body: Value) {
        let workspace = from.split('/').next().unwrap_or_default();
        let mut head = map([
            ("type", "method".into()),
            ("from", from.into()),
            ("to", OWN_ID.into()),
            ("method", method.into()),
            ("ws", workspace.into()),
            ("user", map([("id", "root".into())])),
        ]);
        if let (Some(session), Value::Map(fields)) = (session, &mut head) {
            fields.push(("session".into(), session.into()));
        }
        self.bytes(packed(&[head, body])).await;
    }

    /// Calls the client, as one who waits for the answer.
    pub(crate) async fn call(&mut self, from: &str, method: &str, session: &str, args: Vec<Value>) {
        let body = map([("args", Value::Array(args)), ("promise", "*".into()), ("t", 3600.0.into())]);
        self.relay(from, method, Some(session), body).await;
    }

    /// Whom the call was for gives a result.
    pub(crate) async fn resolve(&mut self, call: &Frame, result: Value) {
        self.resolve_as(call.to(), call, result).await;
    }

    /// This one gives a result.
    pub(crate) async fn resolve_as(&mut self, from: &str, call: &Frame, result: Value) {
        let body = map([("args", Value::Array(vec![result]))]);
        self.relay(from, &format!("{}.resolve", call.session()), None, body).await;
    }

    /// Whom the call was for raises an error.
    pub(crate) async fn reject(&mut self, call: &Frame, kind: &str, message: &str) {
        let body = map([("args", Value::Array(vec![raised(message, &format!("{kind}: {message}"))]))]);
        self.relay(call.to(), &format!("{}.reject", call.session()), None, body).await;
    }

    /// Whom the call was for says that it still works.
    pub(crate) async fn heartbeat(&mut self, call: &Frame) {
        self.relay(call.to(), &format!("{}.heartbeat", call.session()), None, map([])).await;
    }

    /// The server's routing does not pass a call on.
    pub(crate) async fn turn_down(&mut self, call: &Frame, words: &str) {
        let head = map([
            ("type", "method".into()),
            ("from", call.to().into()),
            ("to", OWN_ID.into()),
            ("method", format!("{}.reject", call.session()).into()),
        ]);
        let body = map([("args", Value::Array(vec![raised(words, "")]))]);
        self.bytes(packed(&[head, body])).await;
    }

    /// The event that a client has left.
    pub(crate) async fn client_disconnected(&mut self, id: &str) {
        let (workspace, _) = id.split_once('/').unwrap_or(("ws", id));
        let data = map([("id", id.into()), ("workspace", workspace.into())]);
        let event = map([("type", "client_disconnected".into()), ("to", "*".into()), ("data", data)]);
        self.bytes(packed(&[event])).await;
    }

    /// The event that a service was taken out of the registry: the server's own, or one of another client's making, which the server relays with whom it is from.
    pub(crate) async fn service_removed(&mut self, id: &str, from: Option<&str>) {
        let event = [("type", "service_removed".into()), ("to", "*".into()), ("data", map([("id", id.into())]))];
        let from = from.map(|from| ("from", Value::from(from)));
        let fields = event.into_iter().chain(from).map(|(name, value)| (Value::from(name), value));
        self.bytes(packed(&[Value::Map(fields.collect())])).await;
    }

    /// A call of the peer's, and how the client answers it.
    pub(crate) async fn ask(&mut self, from: &str, method: &str, args: Vec<Value>) -> Frame {
        self.call(from, method, "asked", args).await;
        let answer = self.any_frame().await;
        assert_eq!(answer.to(), from);
        assert!(answer.method().starts_with("asked."), "{answer:?}");
        answer
    }

    pub(crate) async fn ask_as_peer(&mut self, method: &str, args: Vec<Value>) -> Frame {
        self.ask(PEER, method, args).await
    }
}

fn raised(message: &str, trace: &str) -> Value {
    map([("_rtype", "error".into()), ("_rvalue", message.into()), ("_rtrace", trace.into())])
}
