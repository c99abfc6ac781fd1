// A status that is turned into a number by code of its own.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`return new Response('x', { status: { valueOf() { for (;;); } } });`);
