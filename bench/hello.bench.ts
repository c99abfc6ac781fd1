// A worker that answers "Hello World": what a request costs before the worker does anything. `npm run bench hello`.
import { measureRequests } from './requests.ts';

await measureRequests('hello', '/');
