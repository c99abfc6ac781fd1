// A Proxy in the place of a response.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`return new Proxy(new Response('x'), { get() { for (;;); }, getPrototypeOf() { for (;;); } });`);
