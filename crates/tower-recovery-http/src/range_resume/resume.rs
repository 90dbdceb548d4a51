//! The value that the layer asks.

use bytes::Buf;
use http::{HeaderMap, HeaderValue, Method, Request, header, response::Parts};
use http_body::Frame;
use tower_recovery::stream_replacement::{Resume, ResumeRefused};

use super::{
    rest,
    served::{Served, refused},
};

/// Asks for the rest of a body by its bytes: `Range` with `If-Range` (RFC 9110 §14.2, §13.1.5).
///
/// **When**: for downloads by `GET` of what does not change under its entity tag. **Not** for answers that are made anew for each call: their bytes do not fit
/// together, and no server says that they do.
///
/// A body can be resumed if its head, a 200 or the 206 of one range that the caller asked for, has a strong `ETag` and says how many bytes it has. A client that
/// decompresses takes the length away, and is refused: what it hands out is not what offsets count. Without decompression an encoded body is resumed in its encoding.
///
/// The rest is accepted if it is a 206 of exactly the bytes that were asked for, of the same length in all, with the same entity tag, and with the same `Content-Encoding` or none: a
/// server should not repeat it (RFC 9110 §15.3.7). Anything else ends the stream with
/// [`ResumeRefused`]: a 200, by which a server says that the representation has changed or that it serves no ranges; a part of the rest; several ranges.
///
/// It is as good as the tag. nginx makes that of the length and the second of the last change: two files of one length that were put in one place within a second are one
/// to it.
///
/// Of the caller's request only `Range` and `If-Range` are replaced; other conditions are sent as they were.
#[derive(Clone, Debug)]
pub struct RangeResume {
    served: Result<Served, ResumeRefused>,
    handed_out: u64,
    trailers: bool,
}

impl RangeResume {
    /// For one call after the other: each has a clone of its own.
    #[must_use]
    pub fn new() -> Self {
        Self { served: Err(refused("no head has come")), handed_out: 0, trailers: false }
    }

    /// The answer to come, and the next byte of it.
    fn next(&self) -> Result<(&Served, u64), ResumeRefused> {
        let served = self.served.as_ref().map_err(Clone::clone)?;
        let offset = served.extent.bytes.start + self.handed_out;
        if self.trailers || offset >= served.extent.bytes.end {
            return Err(refused("all of its bytes were handed out: only its end is missing"));
        }
        Ok((served, offset))
    }
}

impl Default for RangeResume {
    fn default() -> Self {
        Self::new()
    }
}

impl<RequestBody, Data: Buf> Resume<Request<RequestBody>, Parts, Frame<Data>> for RangeResume {
    fn begin(&mut self, head: &Parts) {
        *self = Self { served: Served::by(head), ..Self::new() };
    }

    fn ask(&self, request: &mut Request<RequestBody>) -> Result<(), ResumeRefused> {
        if request.method() != Method::GET {
            return Err(refused("ranges are defined for GET alone"));
        }
        if has_several_ranges(request.headers()) {
            return Err(refused("several ranges were asked for"));
        }
        let (served, offset) = self.next()?;
        let range = format!("bytes={offset}-{}", served.extent.bytes.end - 1);
        let range = HeaderValue::try_from(range).map_err(|_| refused("its range is no value of a header"))?;
        request.headers_mut().insert(header::RANGE, range);
        request.headers_mut().insert(header::IF_RANGE, served.etag.clone());
        Ok(())
    }

    fn accept(&mut self, head: &Parts) -> Result<(), ResumeRefused> {
        let (served, offset) = self.next()?;
        rest::check(head, served, offset)
    }

    /// Where nothing is known of the bytes, nothing is counted: then no rest will ever be asked for.
    fn hand_out(&mut self, frame: &Frame<Data>) -> Result<(), ResumeRefused> {
        let Ok(served) = &self.served else { return Ok(()) };
        if self.trailers {
            return Err(refused("something came after the trailers"));
        }
        self.trailers = frame.is_trailers();
        let received = frame.data_ref().map_or(0, Buf::remaining) as u64;
        let left = served.extent.bytes.end - served.extent.bytes.start - self.handed_out;
        if received > left {
            return Err(refused("more bytes came than there are"));
        }
        self.handed_out += received;
        Ok(())
    }
}

fn has_several_ranges(headers: &HeaderMap) -> bool {
    let mut ranges = headers.get_all(header::RANGE).iter();
    ranges.next().is_some_and(|range| range.as_bytes().contains(&b',')) || ranges.next().is_some()
}
