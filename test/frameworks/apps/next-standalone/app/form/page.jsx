import { redirect } from 'next/navigation';
import { Suspense } from 'react';

async function send(form) {
  'use server';
  redirect(`/form?name=${encodeURIComponent(form.get('name'))}`);
}

async function Thanks({ searchParams }) {
  const { name } = await searchParams;
  return name && <p>Thanks, {name}</p>;
}

export default function Form({ searchParams }) {
  return (
    <form action={send}>
      <input name="name" />
      <button>Send</button>
      <Suspense>
        <Thanks searchParams={searchParams} />
      </Suspense>
    </form>
  );
}
