/// A frame that is not of Hypha's protocol, or larger than we take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MalformedFrame {
    /// It is longer than we take.
    #[error("a frame of {length} bytes is longer than the limit of {limit}")]
    #[non_exhaustive]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A name in it is longer than any that is used.
    #[error("the field `{field}` has {length} bytes, and names have at most {limit}")]
    #[non_exhaustive]
    NameTooLong {
        /// Which field.
        field: &'static str,
        /// Its length in bytes.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// It ends in the middle of a value, or before a length that it names.
    #[error("the frame ends at byte {at}, and {missing} more were announced")]
    #[non_exhaustive]
    Truncated {
        /// Where it ends.
        at: usize,
        /// How many bytes are missing at least.
        missing: usize,
    },
    /// It goes on after its head and its body.
    #[error("the frame goes on for {excess} bytes after its body")]
    #[non_exhaustive]
    TrailingBytes {
        /// How many bytes too many it has.
        excess: usize,
    },
    /// Its arrays and maps are nested deeper than we take.
    #[error("the values at byte {at} are nested deeper than {limit}")]
    #[non_exhaustive]
    TooDeep {
        /// Where the limit was passed.
        at: usize,
        /// The limit.
        limit: u16,
    },
    /// Its values would take more memory than we give.
    #[error("the values up to byte {at} take more than {limit} bytes of memory")]
    #[non_exhaustive]
    TooManyValues {
        /// Where the limit was passed.
        at: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A byte that MessagePack never uses.
    #[error("byte {at} is 0xc1, which is no MessagePack")]
    #[non_exhaustive]
    ReservedMarker {
        /// Where it stands.
        at: usize,
    },
    /// MessagePack that cannot be decoded in another way.
    #[error("the frame cannot be decoded: {reason}")]
    #[non_exhaustive]
    Undecodable {
        /// The decoder's words.
        reason: String,
    },
    /// A field that must be there is not.
    #[error("the field `{field}` is missing")]
    #[non_exhaustive]
    MissingField {
        /// The field.
        field: &'static str,
    },
    /// A field holds another kind of value than it must.
    #[error("the field `{field}` must be {expected}, and is {found}")]
    #[non_exhaustive]
    WrongType {
        /// The field.
        field: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// A field holds a value that makes no sense there.
    #[error("the field `{field}` must be {expected}, and is {found}")]
    #[non_exhaustive]
    WrongValue {
        /// The field.
        field: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// Its body is encrypted for a key that we never gave out.
    #[error("the frame is encrypted, and encryption is not spoken")]
    Encrypted,
}
