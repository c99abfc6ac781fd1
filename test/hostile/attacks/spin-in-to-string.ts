// A body that is turned into text by code of its own.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`return new Response({ toString() { for (;;); } });`);
