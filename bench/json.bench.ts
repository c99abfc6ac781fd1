// A worker that reads a query parameter and answers JSON. `npm run bench json`.
import { measurePlain } from './plain-requests.ts';

await measurePlain('json', '/greet?name=Ada');
