// The comparator of a sort.
import { spinner } from '#test/setup/hostile.ts';

export default spinner(`return new Response(String([3, 1, 2].sort(() => { for (;;); })));`);
