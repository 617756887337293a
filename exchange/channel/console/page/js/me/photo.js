// Makes a photo small enough for a message before it is sent.

import { truncate } from '../dom.js'
import { t } from '../text/text.js'

const maxBytes = 500000 // bytes
const maxPixels = 1920 // pixels

/** fit returns an upright JPEG of at most maxBytes, without metadata. */
export async function fit(file) {
  const image = await createImageBitmap(file, { imageOrientation: 'from-image' }).catch(() => {
    throw new Error(t(/\.hei[cf]$/i.test(file.name) ? 'compose.heic' : 'compose.decode', { name: truncate(file.name, 60) }))
  })
  try {
    let scale = Math.min(1, maxPixels / Math.max(image.width, image.height))
    for (;;) {
      const canvas = document.createElement('canvas')
      canvas.width = Math.max(1, Math.round(image.width * scale))
      canvas.height = Math.max(1, Math.round(image.height * scale))
      const to = canvas.getContext('2d')
      to.fillStyle = '#fff'
      to.fillRect(0, 0, canvas.width, canvas.height)
      to.drawImage(image, 0, 0, canvas.width, canvas.height)
      for (const quality of [0.85, 0.75, 0.6]) {
        const blob = await new Promise((done) => { canvas.toBlob(done, 'image/jpeg', quality) })
        if (!blob) throw new Error(t('compose.encode'))
        if (blob.size <= maxBytes) return blob
      }
      scale *= 0.75
    }
  } finally {
    image.close()
  }
}
