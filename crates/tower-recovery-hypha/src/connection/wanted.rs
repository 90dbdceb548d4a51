//! What the user of a client wants of its connection.

/// Whether there is to be a connection. A client that is closed and opened in one moment is closed first: each closing is counted, and done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) is_open: bool,
    /// How many closings were asked for.
    pub(crate) closings: u64,
    /// Whether calls wait while it is closed, because another connection follows.
    pub(crate) calls_wait: bool,
}

impl Wanted {
    /// Whether this changes anything.
    pub(crate) fn open(&mut self) -> bool {
        !std::mem::replace(&mut self.is_open, true)
    }

    pub(crate) fn close(&mut self, calls_wait: bool) {
        // Also where it is closed already: calls may wait by now that need not any more.
        if self.is_open || (self.calls_wait && !calls_wait) {
            self.closings += 1;
        }
        (self.is_open, self.calls_wait) = (false, calls_wait);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_closing_of_what_is_open_is_counted() {
        let mut wanted = Wanted::default();
        wanted.close(false);
        assert_eq!(wanted, Wanted::default(), "it was closed");
        assert_eq!((wanted.open(), wanted.open()), (true, false));
        wanted.close(true);
        wanted.close(true);
        assert_eq!(wanted, Wanted { is_open: false, closings: 1, calls_wait: true });
        wanted.close(false);
        assert_eq!(wanted, Wanted { is_open: false, closings: 2, calls_wait: false }, "nobody waits any more");
    }
}
