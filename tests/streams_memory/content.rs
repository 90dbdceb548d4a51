//! Bytes of which each has its place.

use bytes::Bytes;

/// A prime, so that no size of anything has a multiple in common with it.
const PERIOD: usize = 1_048_573;

/// Letters at random, for ever: the same ones in each period, but moved on by one for each. Parts of it are shared, not copied.
#[derive(Clone)]
pub(crate) struct Content {
    twice: Bytes,
}

impl Content {
    pub(crate) fn new() -> Self {
        let mut random = fastrand::Rng::with_seed(7);
        let once: Vec<u8> = (0..PERIOD).map(|_| random.u8(b'a'..=b'z')).collect();
        Self { twice: once.repeat(2).into() }
    }

    /// What begins there: so many bytes, or fewer.
    pub(crate) fn at(&self, position: u64, length: usize) -> Bytes {
        let (periods, within) = (position / PERIOD as u64, (position % PERIOD as u64) as usize);
        let first = (within + (periods % PERIOD as u64) as usize) % PERIOD;
        self.twice.slice(first..first + length.min(PERIOD - within))
    }

    /// It is these bytes that begin there.
    pub(crate) fn assert_at(&self, position: u64, bytes: &[u8]) {
        let (mut position, mut bytes) = (position, bytes);
        while !bytes.is_empty() {
            let wanted = self.at(position, bytes.len());
            let (part, rest) = bytes.split_at(wanted.len());
            assert!(part == wanted, "at {position} or soon after it come other bytes");
            (position, bytes) = (position + part.len() as u64, rest);
        }
    }
}
