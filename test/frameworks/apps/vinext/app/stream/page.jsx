import { connection } from 'next/server';
import { Suspense } from 'react';

async function Later() {
  await connection();
  await new Promise((resolve) => setTimeout(resolve, 500));
  return <p>second part</p>;
}

export default function Stream() {
  return (
    <main>
      <p>first part</p>
      <Suspense fallback={<p>...</p>}>
        <Later />
      </Suspense>
    </main>
  );
}
