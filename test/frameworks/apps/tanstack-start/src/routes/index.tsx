import { createFileRoute } from '@tanstack/react-router';
import { useState } from 'react';

export const Route = createFileRoute('/')({
  validateSearch: (search: Record<string, unknown>): { name?: string } =>
    search.name === undefined ? {} : { name: String(search.name) },
  component: Home,
});

function Home() {
  const { name = 'stranger' } = Route.useSearch();
  const [count, setCount] = useState(0);
  return (
    <main>
      <h1>Hello, {name}</h1>
      <p>version one</p>
      <button onClick={() => setCount(count + 1)}>{`clicked ${count} times`}</button>
    </main>
  );
}
