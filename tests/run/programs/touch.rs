//! Creates the file of its argument.
fn main() {
    let path = std::env::args().nth(1).expect("a path");
    std::fs::File::create(path).expect("a file");
}
