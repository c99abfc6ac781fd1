// A worker that reads a query parameter and answers JSON. `npm run bench json`.
import { measureRequests } from './requests.ts';

await measureRequests('json', '/greet?name=Ada');
