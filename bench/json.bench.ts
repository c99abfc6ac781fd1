// `npm run bench json`: a worker that reads a query parameter and responds with JSON.
import { measurePlain } from './plain-requests.ts';

await measurePlain('json', '/greet?name=Ada');
