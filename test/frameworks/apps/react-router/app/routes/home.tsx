import { useState } from 'react';
import { useLoaderData, type LoaderFunctionArgs } from 'react-router';

export function loader({ request }: LoaderFunctionArgs) {
  return { name: new URL(request.url).searchParams.get('name') ?? 'stranger' };
}

export default function Home() {
  const { name } = useLoaderData<typeof loader>();
  const [count, setCount] = useState(0);
  return (
    <main>
      <h1>Hello, {name}</h1>
      <p>version one</p>
      <button onClick={() => setCount(count + 1)}>{`clicked ${count} times`}</button>
    </main>
  );
}
