/* cache_policy.cu: makes the policies of cache_policy.cuh. PTX does not define their encoding, so
 * the GPU makes them once per device, and the host passes them to kernels. */
#include "cache_policy.cuh"

static __global__ void make_policies(cache_policy *out) {
    const int k = (int)threadIdx.x;
    cache_policy all_first = 0, some_stay = 0;
    NV_IF_TARGET(NV_PROVIDES_SM_80,
                 (const float share = (float)k / (CACHE_POLICIES - 1), all = 1;
                  asm("createpolicy.fractional.L2::evict_first.b64 %0, %1;"
                      : "=l"(all_first)
                      : "f"(all));
                  asm("createpolicy.fractional.L2::evict_normal.L2::evict_first.b64 %0, %1;"
                      : "=l"(some_stay)
                      : "f"(k ? share : all));))
    out[k] = k ? some_stay : all_first;
}

spmv_status make_cache_policies(spmv_device *d) {
    cuda_state *s = (cuda_state *)d->state;
    cache_policy *made = NULL;
    TRY(d->backend->alloc(d, sizeof s->policy, (void **)&made));
    make_policies<<<1, CACHE_POLICIES, 0, stream_of(d)>>>(made);
    spmv_status status = launched(d);
    if (status == SPMV_OK) status = d->backend->get(d, s->policy, made, sizeof s->policy);
    d->backend->release(d, made);
    return status;
}
