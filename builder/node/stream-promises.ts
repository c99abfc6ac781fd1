// node:stream/promises. Bundled into workers by node-compat.ts.
import { promises } from './stream.ts';

export const { finished, pipeline } = promises as Record<string, unknown>;

export default promises;
