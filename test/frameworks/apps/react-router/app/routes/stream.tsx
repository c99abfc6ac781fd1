import { Suspense } from 'react';
import { Await, useLoaderData } from 'react-router';

export function loader() {
  return { later: new Promise<string>((resolve) => setTimeout(() => resolve('second part'), 500)) };
}

export default function Stream() {
  const { later } = useLoaderData<typeof loader>();
  return (
    <main>
      <p>first part</p>
      <Suspense fallback={<p>...</p>}>
        <Await resolve={later}>{(text) => <p>{text}</p>}</Await>
      </Suspense>
    </main>
  );
}
