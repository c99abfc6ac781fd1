// The image service of on-demand pages: images are served unchanged, because an isolate cannot process them.
import noop from 'astro/assets/services/noop';

const { validateOptions, getHTMLAttributes } = noop;

export default {
  validateOptions,
  getHTMLAttributes,
  getSrcSet: () => [],
  getURL: ({ src }) => (typeof src === 'string' ? src : src.src),
};
