import { createAsync, query } from '@solidjs/router';
import { Suspense } from 'solid-js';

const later = query(async () => {
  'use server';
  await new Promise((resolve) => setTimeout(resolve, 500));
  return 'second part';
}, 'later');

export default function Stream() {
  const text = createAsync(() => later());
  return (
    <main>
      <p>first part</p>
      <Suspense fallback={<p>wait</p>}>
        <p>{text()}</p>
      </Suspense>
    </main>
  );
}
