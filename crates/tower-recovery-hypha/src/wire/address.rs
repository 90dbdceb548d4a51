use super::Limits;
use super::fields::Fields;
use super::scan::Scan;

/// From whom a frame is and for which method, where its head can be read though the rest cannot.
pub(crate) fn decode_address(frame: &[u8], limits: &Limits) -> Option<(String, String)> {
    let mut scan = Scan::new(frame, limits);
    scan.value().ok()?;
    let head = rmpv::decode::read_value(&mut &frame[..scan.at()]).ok()?;
    let mut head = Fields::of(head, "head").ok()?;
    Some((head.require_text("from").ok()?, head.require_text("method").ok()?))
}
