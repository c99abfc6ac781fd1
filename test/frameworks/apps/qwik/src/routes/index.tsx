import { component$, useSignal } from '@builder.io/qwik';
import { routeLoader$ } from '@builder.io/qwik-city';

export const useName = routeLoader$(({ query }) => query.get('name') ?? 'stranger');

export default component$(() => {
  const name = useName();
  const count = useSignal(0);
  return (
    <>
      <h1>Hello, {name.value}</h1>
      <p>version one</p>
      <button onClick$={() => count.value++}>clicked {count.value} times</button>
    </>
  );
});
