// node:dns/promises: addresses of names. Bundled into workers by node-compat.ts.
import { promises } from './dns.ts';

export const { lookup, resolve4, resolve6 } = promises;
