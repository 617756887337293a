// sharp-fit.js IN OUT EDGE MOZJPEG: shrinks once, and looks for the quality.
const sharp = require('sharp');
const fs = require('fs');

sharp.concurrency(1);
sharp.cache(false);
const [, , input, output, edge, mozjpeg] = process.argv;

(async () => {
  const small = await sharp(input).rotate()
    .resize({ width: +edge, height: +edge, fit: 'inside', withoutEnlargement: true })
    .raw().toBuffer({ resolveWithObject: true });
  let low = 1, high = 100, best = null;
  while (low <= high) {
    const quality = (low + high) >> 1;
    const data = await sharp(small.data, { raw: small.info }).jpeg({ quality, mozjpeg: mozjpeg === '1' }).toBuffer();
    if (data.length <= 512000) { best = data; low = quality + 1; } else { high = quality - 1; }
  }
  fs.writeFileSync(output, best);
})();
