/// How much a peer can make us hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The length of one frame.
    pub(crate) max_frame_bytes: usize,
    /// The length of one message that comes in chunks.
    pub(crate) max_message_bytes: usize,
    /// The memory that the values of one frame or message take once they are decoded. A value of one byte on the wire takes 32, and one in an array of its own
    /// 128, so the length of the frame is no bound for it.
    pub(crate) max_decoded_bytes: usize,
    /// How deep arrays and maps may be nested.
    pub(crate) max_depth: u16,
    /// How many messages may be in the making.
    pub(crate) max_open_messages: usize,
    /// How many of them may be one sender's, so that the others have some.
    pub(crate) max_open_messages_of_one: usize,
    /// What all messages in the making may take together.
    pub(crate) max_open_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: usize = 1 << 20;
        Self {
            max_frame_bytes: 4 * MIB,
            max_message_bytes: 64 * MIB,
            max_decoded_bytes: 128 * MIB,
            max_depth: 64,
            max_open_messages: 64,
            max_open_messages_of_one: 16,
            max_open_bytes: 128 * MIB,
        }
    }
}
