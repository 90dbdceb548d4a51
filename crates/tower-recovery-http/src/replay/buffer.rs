//! What was read from the source, kept for later copies, and how far the copy that is being sent has come in it.

use std::collections::VecDeque;

use bytes::Bytes;
use http::HeaderMap;
use http_body::Frame;

/// Frames that were kept. Each frame that is read passes through [`keep`](Self::keep) or [`lose`](Self::lose) when it is given out.
#[derive(Debug)]
pub(super) struct Buffer {
    limit: usize,
    frames: VecDeque<Kept>,
    /// How many of `frames` the copy that is being sent has had.
    given: usize,
    /// The bytes in `frames`.
    bytes: usize,
    /// Something was given out that is not here any more.
    lost: bool,
}

#[derive(Debug)]
pub(super) enum Kept {
    Data(Bytes),
    // Boxed, because a header map is three times as large, and every frame would take its room.
    Trailers(Box<HeaderMap>),
}

/// What the buffer lets go, to be dropped where no lock is held: dropping bytes may run code of their owner's.
pub(super) type Released = VecDeque<Kept>;

impl Buffer {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, frames: VecDeque::new(), given: 0, bytes: 0, lost: false }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost
    }

    pub(super) fn has_more(&self) -> bool {
        self.given < self.frames.len()
    }

    /// The next kept frame; it stays here if another copy may need it.
    pub(super) fn replay(&mut self, for_others: bool) -> Option<Frame<Bytes>> {
        if !for_others {
            let kept = self.frames.pop_front()?;
            self.bytes -= kept.size();
            self.lost = true;
            return Some(kept.into_frame());
        }
        let frame = self.frames.get(self.given)?.to_frame();
        self.given += 1;
        Some(frame)
    }

    /// Keeps a frame that is given out now, after all that are here, or everything is lost.
    pub(super) fn keep(&mut self, frame: &Frame<Bytes>) -> Released {
        match Kept::of(frame) {
            _ if self.lost => Released::new(),
            Some(kept) if kept.size() <= self.limit - self.bytes => {
                self.bytes += kept.size();
                self.frames.push_back(kept);
                self.given += 1;
                Released::new()
            }
            _ => self.lose(),
        }
    }

    /// A frame is given out and not kept, so nothing of the rest is of use any more.
    pub(super) fn lose(&mut self) -> Released {
        self.lost = true;
        self.release()
    }

    /// Lets all go; without a frame given out in between, nothing is lost by it that could have been sent.
    pub(super) fn release(&mut self) -> Released {
        (self.given, self.bytes) = (0, 0);
        std::mem::take(&mut self.frames)
    }

    /// No other copy needs what the one that is being sent has had.
    pub(super) fn release_given(&mut self) -> Released {
        if self.given == 0 {
            return Released::new();
        }
        self.lost = true;
        let rest = self.frames.split_off(self.given);
        let released = std::mem::replace(&mut self.frames, rest);
        self.given = 0;
        self.bytes -= released.iter().map(Kept::size).sum::<usize>();
        released
    }

    /// A copy begins from the start.
    pub(super) fn rewind(&mut self) {
        self.given = 0;
    }
}

impl Kept {
    /// `None` for a kind of frame that is not known here, and so cannot be sent twice.
    fn of(frame: &Frame<Bytes>) -> Option<Self> {
        let data = frame.data_ref().map(|data| Self::Data(data.clone()));
        data.or_else(|| frame.trailers_ref().map(|trailers| Self::Trailers(Box::new(trailers.clone()))))
    }

    fn to_frame(&self) -> Frame<Bytes> {
        match self {
            Self::Data(data) => Frame::data(data.clone()),
            Self::Trailers(trailers) => Frame::trailers(HeaderMap::clone(trailers)),
        }
    }

    fn into_frame(self) -> Frame<Bytes> {
        match self {
            Self::Data(data) => Frame::data(data),
            Self::Trailers(trailers) => Frame::trailers(*trailers),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Data(data) => data.len(),
            Self::Trailers(trailers) => {
                trailers.iter().map(|(name, value)| name.as_str().len() + value.as_bytes().len()).sum()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(text: &'static str) -> Frame<Bytes> {
        Frame::data(Bytes::from_static(text.as_bytes()))
    }

    fn trailers(name: &'static str) -> Frame<Bytes> {
        Frame::trailers(HeaderMap::from_iter([(name.parse().unwrap(), "1".parse().unwrap())]))
    }

    fn replayed(buffer: &mut Buffer, for_others: bool) -> Vec<String> {
        let frames = std::iter::from_fn(|| buffer.replay(for_others)).take(9);
        frames.map(|frame| frame.data_ref().map_or_else(|| "trailers".into(), |data| format!("{data:?}"))).collect()
    }

    #[test]
    fn what_fills_the_limit_exactly_is_kept_and_one_byte_more_releases_everything() {
        let mut buffer = Buffer::new(5);
        for text in ["ab", "cde"] {
            assert!(buffer.keep(&data(text)).is_empty());
        }
        assert!((buffer.bytes, buffer.is_lost()) == (5, false));
        assert_eq!(buffer.keep(&data("f")).len(), 2);
        assert!((buffer.bytes, buffer.is_lost(), buffer.frames.len()) == (0, true, 0));
        assert!(buffer.keep(&data("g")).is_empty());
        assert!((buffer.bytes, buffer.has_more(), buffer.frames.len()) == (0, false, 0), "nothing is kept any more");
    }

    #[test]
    fn trailers_count_by_their_names_and_values() {
        let mut buffer = Buffer::new(4);
        buffer.keep(&trailers("sum"));
        assert!((buffer.bytes, buffer.is_lost()) == (4, false));
        let mut buffer = Buffer::new(3);
        buffer.keep(&trailers("sum"));
        assert!(buffer.is_lost());
    }

    #[test]
    fn a_replay_for_others_keeps_the_frames_and_the_last_one_releases_them() {
        let mut buffer = Buffer::new(16);
        let frames = ["b\"ab\"", "b\"c\"", "trailers"];
        buffer.keep(&data("ab"));
        buffer.keep(&data("c"));
        buffer.keep(&trailers("sum"));
        assert!(!buffer.has_more());
        for _ in 0..2 {
            buffer.rewind();
            assert_eq!(replayed(&mut buffer, true), frames);
            assert!(!buffer.is_lost());
        }
        buffer.rewind();
        assert!(buffer.has_more());
        buffer.replay(false).unwrap();
        assert!((buffer.bytes, buffer.is_lost()) == (5, true));
        assert_eq!(replayed(&mut buffer, false), frames[1..]);
        assert!((buffer.bytes, buffer.frames.len()) == (0, 0));
    }

    #[test]
    fn releasing_what_was_given_leaves_the_rest_and_loses_only_what_was_there() {
        let mut buffer = Buffer::new(16);
        assert!(buffer.release_given().is_empty());
        assert!(!buffer.is_lost());
        buffer.keep(&data("ab"));
        buffer.keep(&data("cde"));
        buffer.rewind();
        assert!(buffer.release_given().is_empty());
        assert!(!buffer.is_lost(), "nothing was given since the start");
        buffer.replay(true).unwrap();
        assert_eq!(buffer.release_given().len(), 1);
        assert!((buffer.bytes, buffer.is_lost()) == (3, true));
        assert_eq!(replayed(&mut buffer, false), ["b\"cde\""]);
    }
}
