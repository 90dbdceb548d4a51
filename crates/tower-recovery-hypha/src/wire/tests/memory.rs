//! What a frame can make us hold, counted.

use allocation_counter::measure;

use super::golden;
use crate::wire::{Limits, decode};

/// As many copies of `element` as make a frame of about `length` bytes.
fn amplifying(element: &[u8], length: usize) -> Vec<u8> {
    let copies = length / element.len();
    let mut frame = [golden!("headless"), &[0x81, 0xa1, b'x', 0xdd]].concat();
    frame.extend_from_slice(&(copies as u32).to_be_bytes());
    frame.extend(element.iter().cycle().take(copies * element.len()));
    frame
}

/// Those that take the most for each of their bytes.
fn elements() -> Vec<Vec<u8>> {
    vec![
        vec![0xc0],
        vec![0x90],
        vec![0x91, 0xc0],
        vec![0x80],
        vec![0x81, 0xc0, 0xc0],
        vec![0xa0],
        vec![0xa1, b'x'],
        vec![0xc4, 0x01, 0x00],
        vec![0xd4, 0x00, 0x00],
        vec![0x95, 0xc0, 0xc0, 0xc0, 0xc0, 0xc0],
        [vec![0x91; 60], vec![0xc0]].concat(),
        [[0x81, 0xc0].repeat(60), vec![0xc0]].concat(),
        [vec![0xdb, 0x00, 0x01, 0x00, 0x01], vec![b'x'; 0x10001]].concat(),
    ]
}

#[test]
fn what_is_decoded_takes_no_more_than_half_as_much_again_as_the_limit() {
    for element in elements() {
        // The largest of these that is not refused.
        let limits = Limits { max_decoded_bytes: 256 << 10, ..Limits::default() };
        let (mut least, mut most) = (0, 512 << 10);
        while most - least > element.len() {
            let middle = least.midpoint(most);
            match decode(&amplifying(&element, middle), &limits) {
                Ok(_) => least = middle,
                Err(_) => most = middle,
            }
        }
        let frame = amplifying(&element, least);
        let held = measure(|| drop(decode(&frame, &limits).unwrap())).bytes_max;
        let bound = limits.max_decoded_bytes as u64 * 3 / 2;
        assert!(held <= bound, "{held} bytes for a frame of {} of {element:02x?}", frame.len());
        assert!(held >= bound / 6, "the limit is worth something: {held} bytes of {element:02x?}");
    }
}

#[test]
fn what_is_refused_before_it_is_decoded_takes_nothing() {
    let limits = Limits { max_decoded_bytes: 1 << 20, ..Limits::default() };
    let mut frames: Vec<Vec<u8>> = elements().iter().map(|element| amplifying(element, 1 << 20)).collect();
    frames.push(vec![0xdd, 0xff, 0xff, 0xff, 0xff]);
    frames.push(vec![0xc6, 0xff, 0xff, 0xff, 0xff]);
    frames.push(vec![0x91; 1 << 20]);
    frames.push(vec![0; 5 << 20]);
    frames.push([golden!("call"), &[0]].concat());
    for frame in frames {
        let allocated = measure(|| assert!(decode(&frame, &limits).is_err())).bytes_total;
        assert_eq!(allocated, 0, "a frame of {} bytes: {:02x?}", frame.len(), &frame[..5]);
    }
}
