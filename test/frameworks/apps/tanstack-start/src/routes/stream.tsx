import { Await, createFileRoute } from '@tanstack/react-router';
import { Suspense } from 'react';

export const Route = createFileRoute('/stream')({
  loader: () => ({ later: new Promise<string>((resolve) => setTimeout(() => resolve('second part'), 500)) }),
  component: Stream,
});

function Stream() {
  const { later } = Route.useLoaderData();
  return (
    <main>
      <p>first part</p>
      <Suspense fallback={<p>...</p>}>
        <Await promise={later}>{(text) => <p>{text}</p>}</Await>
      </Suspense>
    </main>
  );
}
