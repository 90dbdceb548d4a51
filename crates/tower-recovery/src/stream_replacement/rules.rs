//! What the layer must know of a stream, as a value beside it.

use std::{error::Error, fmt};

use futures_util::{Stream, TryStream};
use tower::BoxError;

use crate::Verdict;

/// What the layer must know of a stream: where its items are, what each of them says, and when the whole of it has come.
///
/// Completeness is a rule of the protocol and not of the socket: transports end cleanly what was cut off. So the rules look at every item, and are
/// asked at the end. The layer clones them for each attempt: they may keep count of it, and of a resumed one they see the rest alone.
///
/// [`ItemRules`] serves responses that are streams themselves; adapters bring their own.
pub trait StreamRules<Response>: Clone {
    /// What comes before the items: the head of an HTTP response.
    type Head;
    /// What the stream is made of.
    type Item;
    /// The stream. An error ends it.
    type Items: Stream<Item = Result<Self::Item, BoxError>> + Unpin;

    /// Whether the response as a whole is a verdict of the other side, and no stream to be watched: an HTTP status that is no success. It goes out as it is,
    /// whatever becomes of its items.
    fn is_verdict(&self, response: &Response) -> bool {
        let _ = response;
        false
    }

    /// Takes the response apart.
    fn open(&mut self, response: Response) -> (Self::Head, Self::Items);

    /// What one item says.
    fn look(&mut self, item: &Self::Item) -> Sight;

    /// Whether the whole of the stream has come when it ends by itself, without a [`Terminal`](Sight::Terminal) item.
    fn is_complete(&self) -> bool;

    /// What it proves that the stream broke with this error, where no [`Failure`](crate::Failure) in it says so. A connection that was lost is
    /// [`maybe_sent`](Verdict::maybe_sent), and the stream may be replaced; what is not recognised ends it as it is.
    fn broken_by(&self, error: &(dyn Error + 'static)) -> Verdict {
        let _ = error;
        Verdict::unrecognised()
    }

    /// How many bytes an item holds: for the bound of what is held back, and for the account of what was discarded.
    fn bytes(&self, item: &Self::Item) -> u64 {
        let _ = item;
        0
    }
}

/// What one item of a stream says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sight {
    /// The connection and whoever sends this are alive, and that is all: a ping, a comment. Who watches the stream does not hand it out.
    KeepAlive,
    /// Work goes on, but there is nothing to hand out yet: a part of an event.
    Progress,
    /// What a stream begins with before it has anything to say: a role, an id. It belongs to the result, and commits to none: until the first
    /// [`Content`](Self::Content) it is held back by [`UntilFirstItem`](super::UntilFirstItem), up to 64 KiB of it.
    Preamble,
    /// A part of the result.
    Content,
    /// The last part of the result. What comes after it is not waited for.
    Terminal,
    /// The other side says no: an error event. It is handed out as the answer that it is, the stream ends with it, and nothing is replaced.
    Verdict,
}

/// Rules for responses that are streams themselves, made of functions.
///
/// # Examples
///
/// ```
/// use std::io;
/// use tower_recovery::{Verdict, stream_replacement::{ItemRules, Sight}};
///
/// // Lines of a log that ends with a full stop.
/// let rules = ItemRules::new(|line: &String| match line.as_str() {
///     "" => Sight::KeepAlive,
///     "." => Sight::Terminal,
///     _ => Sight::Content,
/// })
/// .incomplete_without_terminal()
/// .measured_by(|line| line.len() as u64)
/// .broken_by(|error| if error.is::<io::Error>() { Verdict::maybe_sent().stale() } else { Verdict::unrecognised() });
/// # let _ = rules;
/// ```
pub struct ItemRules<Item> {
    look: fn(&Item) -> Sight,
    complete_without_terminal: bool,
    bytes: fn(&Item) -> u64,
    broken_by: fn(&(dyn Error + 'static)) -> Verdict,
}

impl<Item> ItemRules<Item> {
    /// Rules that see items like this. Until told otherwise a clean end is complete, items have no size, and no error is recognised but a
    /// [`Failure`](crate::Failure).
    pub fn new(look: fn(&Item) -> Sight) -> Self {
        Self { look, complete_without_terminal: true, bytes: |_| 0, broken_by: |_| Verdict::unrecognised() }
    }

    /// A stream that ends without a [`Terminal`](Sight::Terminal) item was cut off.
    #[must_use]
    pub fn incomplete_without_terminal(mut self) -> Self {
        self.complete_without_terminal = false;
        self
    }

    /// How many bytes an item holds.
    #[must_use]
    pub fn measured_by(mut self, bytes: fn(&Item) -> u64) -> Self {
        self.bytes = bytes;
        self
    }

    /// What an error of the stream proves.
    #[must_use]
    pub fn broken_by(mut self, verdict: fn(&(dyn Error + 'static)) -> Verdict) -> Self {
        self.broken_by = verdict;
        self
    }
}

impl<Item, Response> StreamRules<Response> for ItemRules<Item>
where
    Response: TryStream<Ok = Item> + Stream<Item = Result<Item, Response::Error>> + Unpin,
    Response::Error: Into<BoxError>,
{
    type Head = ();
    type Item = Item;
    type Items = futures_util::stream::ErrInto<Response, BoxError>;

    fn open(&mut self, response: Response) -> ((), Self::Items) {
        ((), futures_util::TryStreamExt::err_into(response))
    }

    fn look(&mut self, item: &Item) -> Sight {
        (self.look)(item)
    }

    fn is_complete(&self) -> bool {
        self.complete_without_terminal
    }

    fn broken_by(&self, error: &(dyn Error + 'static)) -> Verdict {
        (self.broken_by)(error)
    }

    fn bytes(&self, item: &Item) -> u64 {
        (self.bytes)(item)
    }
}

impl<Item> Clone for ItemRules<Item> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<Item> fmt::Debug for ItemRules<Item> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ItemRules")
            .field("complete_without_terminal", &self.complete_without_terminal)
            .finish_non_exhaustive()
    }
}
