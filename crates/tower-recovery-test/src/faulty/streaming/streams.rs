//! Who decides what is streamed.

use super::{super::RequestContext, StreamScript};

/// Finds the script of each request that is answered by a stream.
///
/// Ready-made: one [`StreamScript`], which holds for all of them; a list, one for each in the order in which their heads were read, after
/// which the application's answers are sent as they are; and a closure `Fn(&RequestContext) -> Option<StreamScript>`, with `None` for an
/// answer that is sent as it is.
pub trait Streams: Send + Sync + 'static {
    /// Decides how a request is answered that was given the act [`Stream`](super::super::Act::Stream); `number` says which of those it is, counted
    /// from 1. `None` leaves the answer as it is.
    fn on_stream(&self, number: usize, request: &RequestContext) -> Option<StreamScript>;
}

impl<Decide> Streams for Decide
where
    Decide: Fn(&RequestContext) -> Option<StreamScript> + Send + Sync + 'static,
{
    fn on_stream(&self, _: usize, request: &RequestContext) -> Option<StreamScript> {
        self(request)
    }
}

impl Streams for StreamScript {
    fn on_stream(&self, _: usize, _: &RequestContext) -> Option<StreamScript> {
        Some(self.clone())
    }
}

impl<const LENGTH: usize> Streams for [StreamScript; LENGTH] {
    fn on_stream(&self, number: usize, _: &RequestContext) -> Option<StreamScript> {
        self.get(number - 1).cloned()
    }
}

impl Streams for Vec<StreamScript> {
    fn on_stream(&self, number: usize, _: &RequestContext) -> Option<StreamScript> {
        self.get(number - 1).cloned()
    }
}
