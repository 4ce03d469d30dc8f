// Files of every kind the Rust library opens.
use std::fs::{copy, write, File, OpenOptions};
use std::io::Write;

fn main() -> std::io::Result<()> {
    write("written", "1")?;
    File::create("created")?.write_all(b"2")?;
    OpenOptions::new().append(true).create(true).open("appended")?.write_all(b"3")?;
    OpenOptions::new().write(true).create_new(true).open("created-anew")?.write_all(b"4")?;
    copy("written", "copied")?;
    Ok(())
}
