// `npm run bench hello`: a worker that responds with "Hello World", which shows the cost of a request before the worker
// does anything.
import { measurePlain } from './plain-requests.ts';

await measurePlain('hello', '/');
