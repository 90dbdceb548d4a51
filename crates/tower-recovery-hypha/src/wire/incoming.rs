use std::time::Duration;

use rmpv::Value;

/// What a frame says.
#[expect(clippy::large_enum_variant, reason = "nearly every frame is a call, and a box for each would save nothing")]
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Incoming {
    /// A method of ours is called; an answer to a call of ours is one too, of `{session}.resolve` or `{session}.reject`.
    Call(IncomingCall),
    /// Anything else.
    Event(IncomingEvent),
}

/// A call of one of our methods.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IncomingCall {
    /// The caller, `workspace/client`; the server's word if `relayed` is there.
    pub(crate) from: String,
    /// The path of the method, such as `services.built-in.ping` or `{session}.resolve`.
    pub(crate) method: String,
    /// The caller's name for this call.
    pub(crate) session: Option<String>,
    /// What the server adds to every frame that it relays. Without it the frame is of the server's own making: the refusal of a frame that it could not route.
    pub(crate) relayed: Option<Relayed>,
    /// The arguments by position.
    pub(crate) args: Vec<Value>,
    /// The arguments by name.
    pub(crate) kwargs: Vec<(Value, Value)>,
    /// Whom to answer. Without it nobody waits.
    pub(crate) promise: Option<Promise>,
}

/// What the server adds to a frame that it relays.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Relayed {
    /// The caller's workspace.
    pub(crate) workspace: String,
    /// What the server knows about the caller.
    pub(crate) user: Value,
}

/// Whom to answer a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Promise {
    /// Takes the result.
    pub(crate) resolve: Callback,
    /// Takes the error.
    pub(crate) reject: Callback,
    /// Takes signs of life, which extend the caller's deadline.
    pub(crate) heartbeat: Option<Callback>,
    /// How often the caller wants one; more than zero.
    pub(crate) interval: Option<Duration>,
}

/// A method of the caller's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Callback {
    /// The client, with its workspace.
    pub(crate) target: String,
    /// The path of the method there.
    pub(crate) method: String,
}

/// A frame of another type than a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct IncomingEvent {
    /// Its type.
    pub(crate) kind: String,
    /// The sender, if it is named.
    pub(crate) from: Option<String>,
    /// Its `data`, or nil.
    pub(crate) data: Value,
}
