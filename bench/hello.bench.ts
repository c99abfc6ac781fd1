// A worker that answers "Hello World": what a request costs before the worker does anything. `npm run bench hello`.
import { measurePlain } from './plain-requests.ts';

await measurePlain('hello', '/');
