// The image service of pages on demand: an image is served as it is, since nothing in an isolate changes it.
import noop from 'astro/assets/services/noop';

const { validateOptions, getHTMLAttributes } = noop;

export default {
  validateOptions,
  getHTMLAttributes,
  getSrcSet: () => [],
  getURL: ({ src }) => (typeof src === 'string' ? src : src.src),
};
