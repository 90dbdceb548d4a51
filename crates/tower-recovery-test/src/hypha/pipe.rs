//! Commands to a Python process and its answers: a length of four bytes and as much msgpack, in both directions.

use std::{
    collections::HashMap,
    io::{self, Read, Write},
    process::{ChildStdin, ChildStdout},
    sync::{Arc, Mutex, mpsc},
    thread,
};

use rmpv::Value;
use tokio::sync::oneshot;

use crate::lock::lock;

/// Why a Python process did not do what it was told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PythonError {
    /// It raised an error, its own or one that `hypha-rpc` made of the other side's.
    #[error("{class}: {text}")]
    Raised {
        /// The name of the error's class.
        class: String,
        /// The error's text. That of an error of the other side has its traceback.
        text: String,
    },
    /// The process ended before it answered.
    #[error("the Python process has ended")]
    Ended,
}

impl PythonError {
    /// The error's text; empty if the process ended.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Raised { text, .. } => text,
            Self::Ended => "",
        }
    }
}

pub(super) type Answer = Result<Value, PythonError>;

/// Threads do the reading and writing: a frozen process reads nothing, and nobody may have to wait for that.
#[derive(Debug)]
pub(super) struct Pipe {
    commands: mpsc::Sender<Vec<u8>>,
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    ended: bool,
    answers: HashMap<u64, oneshot::Sender<Answer>>,
}

impl Pipe {
    pub(super) fn new((input, output): (ChildStdin, ChildStdout)) -> Self {
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        let (commands, to_write) = mpsc::channel();
        thread::spawn(move || write(input, &to_write));
        let answers = Arc::clone(&waiting);
        thread::spawn(move || {
            let mut output = output;
            while let Ok(message) = read(&mut output) {
                answer(&answers, &message);
            }
            let mut waiting = lock(&answers);
            waiting.ended = true;
            // Without their senders, those who wait see that it has ended.
            waiting.answers.clear();
        });
        Self { commands, waiting }
    }

    /// The command is on its way when this returns; what it returns fails if the process ends before it answers.
    pub(super) fn command(
        &self,
        name: &str,
        arguments: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> oneshot::Receiver<Answer> {
        let (sender, receiver) = oneshot::channel();
        let number = {
            let mut waiting = lock(&self.waiting);
            waiting.last += 1;
            let number = waiting.last;
            if !waiting.ended {
                waiting.answers.insert(number, sender);
            }
            number
        };
        let head = [("number", Value::from(number)), ("command", Value::from(name))];
        let mut message = Vec::new();
        rmpv::encode::write_value(&mut message, &map(head.into_iter().chain(arguments)))
            .expect("memory can be written");
        // Fails if the process has ended, which the answer tells.
        let _ = self.commands.send(message);
        receiver
    }
}

/// A map with these keys.
pub(super) fn map<'key>(entries: impl IntoIterator<Item = (&'key str, Value)>) -> Value {
    Value::Map(entries.into_iter().map(|(key, value)| (Value::from(key), value)).collect())
}

fn write(mut input: ChildStdin, messages: &mpsc::Receiver<Vec<u8>>) {
    for message in messages {
        let length = u32::try_from(message.len()).expect("a command is shorter than 4 GiB").to_be_bytes();
        // Fails if the process has ended.
        if input.write_all(&length).and_then(|()| input.write_all(&message)).and_then(|()| input.flush()).is_err() {
            break;
        }
    }
}

fn read(output: &mut ChildStdout) -> io::Result<Value> {
    let mut length = [0; 4];
    output.read_exact(&mut length)?;
    let mut message = vec![0; u32::from_be_bytes(length) as usize];
    output.read_exact(&mut message)?;
    rmpv::decode::read_value(&mut message.as_slice()).map_err(io::Error::other)
}

fn answer(waiting: &Mutex<Waiting>, message: &Value) {
    let field = |name: &str| {
        let fields = message.as_map().into_iter().flatten();
        fields.clone().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value.clone())
    };
    let text = |name: &str| field(name).and_then(|value| value.as_str().map(str::to_owned));
    let answer = match text("kind") {
        Some(class) => Err(PythonError::Raised { class, text: text("text").unwrap_or_default() }),
        None => Ok(field("value").unwrap_or(Value::Nil)),
    };
    let waits =
        field("number").and_then(|number| number.as_u64()).and_then(|number| lock(waiting).answers.remove(&number));
    if let Some(waits) = waits {
        // Fails if nobody waits any more.
        let _ = waits.send(answer);
    }
}
