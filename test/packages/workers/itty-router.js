// itty-router: parameters, errors and JSON. Run by test/integration/packages.test.ts.
import { AutoRouter, cors, error, json, withParams } from 'itty-router';

const { preflight } = cors({ origin: '*' });
const router = AutoRouter({ before: [preflight, withParams] });
router
  .get('/hello/:name', ({ name, query }) => ({ name, query }))
  .post('/echo', async (request) => json(await request.json(), { status: 201 }))
  .get('/fails', () => error(403, 'no'))
  .get('/throws', () => {
    throw new Error('broken');
  });

export default router;
