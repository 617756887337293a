// Makes a photo small enough for a message before it is sent.

import { cut } from './dom.js'

const budget = 500000 // bytes
const longest = 1920 // pixels

/** fit returns a JPEG of at most the budget, upright and without what the camera has written beside it. */
export async function fit(file) {
  const image = await createImageBitmap(file, { imageOrientation: 'from-image' }).catch(() => {
    throw new Error(`${cut(file.name, 60)}: this browser cannot decode the image. Use JPEG or PNG${/\.hei[cf]$/i.test(file.name) ? '; for JPEG on an iPhone, choose Settings, Camera, Formats, Most Compatible' : ''}.`)
  })
  try {
    let scale = Math.min(1, longest / Math.max(image.width, image.height))
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
        if (!blob) throw new Error('this browser cannot encode the image')
        if (blob.size <= budget) return blob
      }
      scale *= 0.75
    }
  } finally {
    image.close()
  }
}
