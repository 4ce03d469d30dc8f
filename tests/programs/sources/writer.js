// Files of every kind Node opens.
const fs = require('fs');
fs.writeFileSync('written', '1');
fs.appendFileSync('appended', '2');
fs.closeSync(fs.openSync('exclusive', 'wx'));
fs.copyFileSync('written', 'copied');
fs.mkdtempSync('directory-');
fs.createWriteStream('streamed').end('3');
fs.promises.writeFile('promised', '4');
