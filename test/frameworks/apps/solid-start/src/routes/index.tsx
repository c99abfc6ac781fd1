import { useSearchParams } from '@solidjs/router';
import { createSignal } from 'solid-js';

export default function Home() {
  const [params] = useSearchParams();
  const [count, setCount] = createSignal(0);
  return (
    <main>
      <h1>Hello, {params.name ?? 'stranger'}</h1>
      <p>version one</p>
      <button onClick={() => setCount(count() + 1)}>clicked {count()} times</button>
    </main>
  );
}
