//! MCP (being written).

/// Options.
pub struct Options {
    /// Engine options.
    pub engine: crate::engine::Options,
    /// Read only.
    pub read_only: bool,
}

/// Serves.
///
/// # Errors
/// None yet.
pub fn serve(_options: Options) -> crate::error::Result<()> {
    Ok(())
}
