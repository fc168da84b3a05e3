// y = a * x + y, written as a user would: no header of Warpbank's, a stride so that any grid will do.
//
//     warpbank compile saxpy.cu
//     warpbank run saxpy.ptx

#define __global__ __attribute__((global))

extern "C" __global__ void saxpy(const float *x, float *y, float a, int n) {
    int first = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
    int stride = __nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
    for (int i = first; i < n; i += stride) y[i] = a * x[i] + y[i];
}
