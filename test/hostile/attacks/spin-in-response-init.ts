// A getter of the options of a response.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`return new Response('x', { get headers() { for (;;); } });`);
