#!/usr/bin/env python3
"""Coefficients of src/aten/bessel_functions.cpp (Chebyshev) and of log gamma in special_functions.cpp (powers), computed with 40
digits. Needs mpmath.

    python tools/gen_chebyshev.py        prints the tables
"""
import mpmath as mp
mp.mp.dps=40
def cheb(f, n, N=None):
    N=N or max(64,2*n)
    xs=[mp.cos(mp.pi*(k+mp.mpf(1)/2)/N) for k in range(N)]
    fs=[f(x) for x in xs]
    c=[]
    for j in range(n+1):
        s=sum(fs[k]*mp.cos(mp.pi*j*(k+mp.mpf(1)/2)/N) for k in range(N))
        c.append(2*s/N)
    c[0]/=2
    return c
def trim(c,tol=mp.mpf(10)**-17):
    m=max(abs(x) for x in c)
    while abs(c[-1])<tol*m: c.pop()
    return c
def show(name,c):
    c=trim(c)
    print(f"constexpr double {name}[] = {{  // {len(c)}")
    print(", ".join(mp.nstr(x,17) for x in c)); print("};")
# small: argument s in[-1,1]
def on(a,b,g): # x=(a+b)/2+(b-a)/2 s
    return lambda s: g((mp.mpf(a)+b)/2+(mp.mpf(b)-a)/2*s)
def inv(a,g): # s = 2a/x-1, x in [a,inf)
    return lambda s: g(2*mp.mpf(a)/(s+1))
show("kI0Small", cheb(on(0,8,lambda x: mp.exp(-x)*mp.besseli(0,x)),40))
show("kI0Large", cheb(inv(8,lambda x: mp.sqrt(x)*mp.exp(-x)*mp.besseli(0,x)),40))
show("kI1Small", cheb(on(0,8,lambda x: mp.exp(-x)*mp.besseli(1,x)/x),40))
show("kI1Large", cheb(inv(8,lambda x: mp.sqrt(x)*mp.exp(-x)*mp.besseli(1,x)),40))
# J0,J1 on [0,8] in x^2
sq=lambda b,g: (lambda s: g(mp.sqrt((s+1)/2*b*b)))
show("kJ0Small", cheb(sq(8,lambda x: mp.besselj(0,x)),40))
show("kJ1Small", cheb(sq(8,lambda x: mp.besselj(1,x)/x),40))
show("kY0Small", cheb(sq(8,lambda x: mp.bessely(0,x)-2/mp.pi*mp.log(x)*mp.besselj(0,x)),40))
show("kY1Small", cheb(sq(8,lambda x: (mp.bessely(1,x)-2/mp.pi*(mp.log(x)*mp.besselj(1,x)-1/x))/x),40))
# large x>=8: with u=(8/x)^2 in [0,1]; P=sqrt(pi x/2)(J cos c + Y sin c), Q= sqrt(pi x /2)(-J sin c + Y cos c)
def PQ(n):
    ph=mp.pi/4 if n==0 else 3*mp.pi/4
    def P(x): c=x-ph; return mp.sqrt(mp.pi*x/2)*(mp.besselj(n,x)*mp.cos(c)+mp.bessely(n,x)*mp.sin(c))
    def Q(x): c=x-ph; return x*mp.sqrt(mp.pi*x/2)*(-mp.besselj(n,x)*mp.sin(c)+mp.bessely(n,x)*mp.cos(c))
    return P,Q
usq=lambda g:(lambda s: g(8/mp.sqrt((s+1)/2)))
for n in (0,1):
    P,Q=PQ(n)
    show(f"kP{n}", cheb(usq(P),40)); show(f"kQ{n}", cheb(usq(Q),40))
# K0,K1
show("kK0Small", cheb(sq(2,lambda x: mp.besselk(0,x)+mp.log(x/2)*mp.besseli(0,x)),30))
show("kK0Large", cheb(inv(2,lambda x: mp.sqrt(x)*mp.exp(x)*mp.besselk(0,x)),50,128))
show("kK1Small", cheb(sq(2,lambda x: x*mp.besselk(1,x)-x*mp.log(x/2)*mp.besseli(1,x)),30))
show("kK1Large", cheb(inv(2,lambda x: mp.sqrt(x)*mp.exp(x)*mp.besselk(1,x)),50,128))
a,b=-6,2
show("kAiryMiddle", cheb(on(a,b,lambda x: mp.airyai(x)),60,160))
z=lambda x: mp.mpf(2)/3*x**mp.mpf('1.5')
z2=z(mp.mpf(2)); 
show("kAiryPositive", cheb(lambda s: (lambda ze: (lambda x: mp.airyai(x)*mp.exp(ze)*x**mp.mpf('0.25'))((ze*3/2)**(mp.mpf(2)/3)))(2*z2/(s+1)),60,160))
z6=z(mp.mpf(6))
# u=(z6/ze)^2
def neg(s,which):
    ze=z6/mp.sqrt((s+1)/2); x=(ze*3/2)**(mp.mpf(2)/3)
    c=ze-mp.pi/4; A=mp.airyai(-x); B=mp.airybi(-x); f=mp.sqrt(mp.pi)*x**mp.mpf('0.25')
    # A f = cos(c) P + sin(c) Q/ze ; B f = -sin(c) P + cos(c) Q/ze
    if which=='P': return f*(A*mp.cos(c)-B*mp.sin(c))
    return ze*f*(A*mp.sin(c)+B*mp.cos(c))
show("kAiryP", cheb(lambda s: neg(s,'P'),40,80))
show("kAiryQ", cheb(lambda s: neg(s,'Q'),40,80))
print("//",mp.nstr(z2,20),mp.nstr(z6,20))
# log gamma near 2, over (x - 1) (x - 2): in powers of t = 2 (x - 2)
def monomials(c):
    before, here, out = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)], [mp.mpf(0)] * len(c)
    for k, ck in enumerate(c):
        t = before if k == 0 else here
        for i, v in enumerate(t): out[i] += ck * v
        if k > 0: before, here = here, [(2 * here[i - 1] if i else 0) - (before[i] if i < len(before) else 0) for i in range(len(here) + 1)]
    return out
def log_gamma(d):
    x = d + 2
    return mp.loggamma(x) / (d * (1 + d)) if abs(d) > mp.mpf(10) ** -15 else mp.psi(0, 2)
c = trim(cheb(on(-0.5, 0.5, log_gamma), 30, 65))
print(f"lgamma, highest first: {len(c)}")
print(", ".join(mp.nstr(x, 17) for x in reversed(monomials(c))))
