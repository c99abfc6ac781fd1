// A getter that structuredClone reads.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`structuredClone({ get x() { for (;;); } }); return new Response('late');`);
